import { launch } from '../bin/launch.mjs';
import { install } from './install.mjs';

await install();
await launch('dev-demo');
