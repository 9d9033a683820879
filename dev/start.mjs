import { launch } from '../bin/launch.mjs';
import { install } from './install.mjs';

await install();
process.argv.splice(2, 0, 'dev');
await launch('cli-main');
