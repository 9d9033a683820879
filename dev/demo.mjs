import { launch } from '../bin/launch.mjs';
import { endWithNpm } from './end-with-npm.mjs';
import { install } from './install.mjs';

await install();
endWithNpm();
await launch('dev-demo');
