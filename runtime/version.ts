import packageJson from '../package.json' with { type: 'json' };

/** `MAJOR.MINOR.PATCH` with an optional suffix (HT-21). */
export const version: string = packageJson.version;
