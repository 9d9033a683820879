import { register } from 'tsx/esm/api';

// The benches are TypeScript run as it stands; what they measure are the built programs of `bin/`.
register();
const { main } = await import('./main.ts');
process.exitCode = await main(process.argv.slice(2));
