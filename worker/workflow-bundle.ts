import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, DefaultLogger, type WorkflowBundle } from '@temporalio/worker';

/**
 * The Temporal library takes a stack trace for each promise of a workflow and looks its lines up in the source map, for its query `__stack_trace` alone: a
 * fifth of the CPU of a read's workflow. Our `state` query tells where a workflow waits, and no stack of ours is to enter a history.
 */
const withoutStacks = 'Error.stackTraceLimit = 0;';

/** The bundle of the build if it is not older than the workflows, which a release does not have. Otherwise bundles now, which takes about 3 s. */
export async function loadWorkflowBundle(): Promise<WorkflowBundle> {
  return { code: `${withoutStacks}${await bundled()}` };
}

async function bundled(): Promise<string> {
  const sources = fileURLToPath(new URL('../workflows/', import.meta.url));
  const built = join(sources, '../dist/workflow-bundle.js');
  const builtAt = modifiedAt(built);
  const names = existsSync(sources) ? readdirSync(sources) : [];
  const changedAt = Math.max(0, ...names.map((name) => modifiedAt(join(sources, name)) ?? 0));
  if (builtAt !== null && builtAt >= changedAt) return readFileSync(built, 'utf8');
  const { code } = await bundleWorkflowCode({
    workflowsPath: join(sources, 'index.ts'),
    payloadConverterPath: join(sources, 'payload-converter.ts'),
    logger: new DefaultLogger('ERROR'),
  });
  return code;
}

function modifiedAt(file: string): number | null {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? null;
}
