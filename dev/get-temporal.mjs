import { launch } from '../bin/launch.mjs';

await launch('dev-get-temporal');
