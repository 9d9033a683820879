import { readdirSync, readFileSync } from 'node:fs';
import { Worker } from '@temporalio/worker';
import { describe, expect, it } from 'vitest';
import { loadWorkflowBundle } from '../../worker/workflow-bundle.js';
import { fromJson } from '../histories/history-file.js';
import { secretTexts } from '../support/requests.js';
import { installTestRuntime } from '../worker/support.js';

const folder = new URL('../histories/', import.meta.url);
const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.json'));
const read = (name: string) =>
  JSON.parse(readFileSync(new URL(name, folder), 'utf8')) as { workflowId: string; history: unknown };

describe('recorded histories', () => {
  it('are there for every path', () => {
    expect(files.length).toBeGreaterThanOrEqual(18);
  });

  it('replay on the workflows as they are now', async () => {
    installTestRuntime();
    const workflowBundle = await loadWorkflowBundle();
    const histories = files.map((name) => {
      const { workflowId, history } = read(name);
      return { workflowId: `${name} ${workflowId}`, history: fromJson(history) };
    });
    const replayed: string[] = [];
    for await (const { workflowId, error } of Worker.runReplayHistories({ workflowBundle }, histories)) {
      if (error !== undefined) throw new Error(`${workflowId}: ${error.message}`);
      replayed.push(workflowId);
    }
    expect(replayed).toHaveLength(files.length);
  });

  it('hold no SQL text, result, comment, reason or error of anybody', () => {
    for (const name of files) {
      const texts: string[] = [];
      collectTexts(read(name).history, texts);
      const all = texts.join('\n');
      expect(all).toMatch(/request|delivery|onboarding|slackCard/);
      for (const secret of [...Object.values(secretTexts), 'marker-']) expect(all, name).not.toContain(secret);
    }
  });
});

/** Payloads are base64 in the recorded form, so each text counts as it stands and decoded. */
function collectTexts(value: unknown, texts: string[]): void {
  if (typeof value === 'string') texts.push(value, Buffer.from(value, 'base64').toString());
  else if (typeof value === 'object' && value !== null) for (const inner of Object.values(value)) collectTexts(inner, texts);
}
