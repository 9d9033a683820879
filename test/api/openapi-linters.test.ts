import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { currentOpenApiText } from '../../api/openapi-file.js';
import type { Loose } from '../support/api.js';
import { nodeProgram } from './openapi/node-program.js';

const folder = mkdtempSync(join(tmpdir(), 'svc-openapi-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let written = 0;
function fileOf(document: Loose): string {
  written += 1;
  const file = join(folder, `${written}.json`);
  writeFileSync(file, JSON.stringify(document));
  return file;
}

const current = (): Loose => JSON.parse(currentOpenApiText());

/** Neither calls anybody: the checks for newer versions and the telemetry of Redocly are off. */
const linters: Record<string, (file: string) => Promise<string[]>> = {
  async Redocly(file) {
    const config = join(folder, 'redocly.yaml');
    writeFileSync(config, 'extends: [recommended]\n');
    const cli = 'node_modules/@redocly/cli/bin/cli.js';
    const env = { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
    const { stdout } = await nodeProgram([cli, 'lint', file, `--config=${config}`, '--format=json'], env);
    return (JSON.parse(stdout).problems as Loose[]).map(({ ruleId }) => ruleId);
  },
  async Spectral(file) {
    const { stdout } = await nodeProgram(['test/api/openapi/spectral.mjs', file]);
    return (JSON.parse(stdout) as Loose[]).map(({ rule }) => rule);
  },
};

describe.each(Object.entries(linters))('%s, with its recommended rules', (name, lint) => {
  it('finds nothing in the OpenAPI document (HT-98)', async () => {
    expect(await lint(fileOf(current()))).toEqual([]);
  }, 120_000);

  it('would find what is wrong', async () => {
    const document = current();
    document.paths['/api/requests'].get.tags = ['nowhere'];
    document.paths['/api/requests'].get.operationId = 'createRequest';
    document.paths['/api/me'].get.responses['200'].content['application/json'].schema.$ref = '#/components/schemas/Nobody';
    delete document.info.license;
    const rules = await lint(fileOf(document));
    const expected = {
      Redocly: ['no-unresolved-refs', 'operation-operationId-unique', 'info-license'],
      Spectral: ['invalid-ref', 'operation-operationId-unique', 'operation-tag-defined'],
    }[name]!;
    expect(rules).toEqual(expect.arrayContaining(expected));
  }, 120_000);
});
