import { launch } from '../bin/launch.mjs';
import { endWithNpm } from './end-with-npm.mjs';
import { install } from './install.mjs';

await install();
endWithNpm();
process.argv.splice(2, 0, 'dev');
await launch('cli-main');
