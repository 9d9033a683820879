// Prints what Spectral finds in an OpenAPI document, as JSON. It loads no types into ours and leaves nothing behind in the process of a test.
import { readFileSync } from 'node:fs';
import core from '@stoplight/spectral-core';
import rulesets from '@stoplight/spectral-rulesets';

const spectral = new core.Spectral();
spectral.setRuleset({ extends: [[rulesets.oas, 'recommended']] });
const found = await spectral.run(JSON.parse(readFileSync(process.argv[2], 'utf8')));
process.stdout.write(JSON.stringify(found.map(({ code, message, path }) => ({ rule: code, message, place: path.join('.') }))));
