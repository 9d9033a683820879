import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { configOf, errorsOf, MINIMAL } from './support.js';

describe('the environment', () => {
  it('supplies four variables: keys of the file win for the licence, the variables for logging (CF-7, OP-44, OP-93)', () => {
    const SVC_SECRET_KEY = 'AB'.repeat(32);
    const config = configOf(`${MINIMAL}[logging]\nlevel = "error"\nformat = "json"`, {
      SVC_SECRET_KEY,
      SVC_LOG_LEVEL: 'debug',
      SVC_LOG_FORMAT: 'text',
    });
    expect(config.security.secretKey).toBe('ab'.repeat(32));
    expect(config.logging).toEqual({ level: 'debug', format: 'text' });
    expect(errorsOf(MINIMAL, { SVC_LICENSE_KEY: 'x' })).toEqual(['server.toml:1:1: license.key: needs license.public_key']);
    expect(errorsOf(MINIMAL, { SVC_LOG_LEVEL: 'loud' })).toEqual([
      'server.toml:1:1: SVC_LOG_LEVEL: environment variable must be one of error, warn, info, debug',
    ]);
  });

  it('gives the two addresses of svc dev where the file has none (OP-53)', () => {
    const environment = { SVC_DEV_DATABASE_URL: 'postgres://dev@localhost/svc', SVC_DEV_TEMPORAL_ADDRESS: 'localhost:17233' };
    const bare = configOf('state_dir = "state"', environment);
    expect([bare.database.url, bare.temporal.address]).toEqual(['postgres://dev@localhost/svc', 'localhost:17233']);
    const own = configOf(`${MINIMAL}[temporal]\naddress = "t:1"`, environment);
    expect([own.database.url, own.temporal.address]).toEqual(['postgres://svc:pw@localhost/svc', 't:1']);
  });

  it('is expanded inside strings: value, default, literal, and an empty variable counts as defined (CF-3)', () => {
    const region = (value: string, environment = {}) =>
      configOf(`${MINIMAL}[result_storage]\nprefix = ${value}`, environment).resultStorage.prefix;
    expect(region(`"a-\${B}-c"`, { B: 'x' })).toBe('a-x-c');
    expect(region(`"\${B:-dflt}"`)).toBe('dflt');
    expect(region(`"$\${B} \${C}"`, { C: 'c' })).toBe(`\${B} c`);
    expect(errorsOf(`${MINIMAL}[result_storage]\nprefix = "\${B:-d}"`, { B: '' })).toEqual([
      'server.toml:5:10: result_storage.prefix: must not be empty',
    ]);
    expect(region(`"\${B}"`, { B: `\${C}` })).toBe(`\${C}`);
    expect(region(`'x' # \${COMMENT}`)).toBe('x');
  });

  it.each([
    [`\${A:-\${B}}`, 'a default cannot contain ${'],
    ['${A', 'unclosed ${'],
    [`\${1A}`, 'no variable name after ${ (write $${ for a literal ${)'],
    [`\${A}`, 'environment variable A is not set'],
    [`\${constructor}`, 'environment variable constructor is not set'],
  ])('is refused at the value of %j', (value, message) => {
    expect(errorsOf(`${MINIMAL}[server]\nlisten = "${value}"`)).toEqual([`server.toml:5:10: server.listen: ${message}`]);
  });

  it('is converted to integers and booleans after expansion only', () => {
    const text = `${MINIMAL}[server]\ndrain_secs = "\${N}"\npublic_docs = "\${B:-true}"`;
    expect(configOf(text, { N: '45' }).server).toMatchObject({ drainSecs: 45, publicDocs: true });
    expect(errorsOf(text, { N: '12x' })).toEqual(['server.toml:5:14: server.drain_secs: must be an integer']);
    expect(errorsOf(`${MINIMAL}[server]\npublic_docs = "true"`)).toEqual([
      'server.toml:5:15: server.public_docs: must be true or false',
    ]);
  });

  it('never adds, removes or changes another key (CF-I3)', () => {
    const syntax = fc.oneof(
      fc.string(),
      fc.stringMatching(/^["'\][{}=#\n,.${a-z:-]{1,40}$/),
      fc.constant('"\n[server]\nlisten = "x:1"'),
    );
    const plain = configOf(`${MINIMAL}[result_storage]\nprefix = "x"`);
    fc.assert(
      fc.property(
        syntax.filter((text) => text !== '' && !text.includes('\0')),
        (value) => {
          const config = configOf(`${MINIMAL}[result_storage]\nprefix = "\${V}"`, { V: value });
          expect(config.resultStorage.prefix).toBe(value);
          expect({ ...config.resultStorage, prefix: 'x', rootDir: '' }).toEqual({ ...plain.resultStorage, rootDir: '' });
          expect(config.shared).toEqual(plain.shared);
        },
      ),
      { numRuns: 60 },
    );
  });
});
