import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, DefaultLogger, type WorkflowBundleOption } from '@temporalio/worker';

/** The bundle of the build if it is not older than the workflows, which a release does not have. Otherwise bundles now, which takes about 3 s. */
export async function loadWorkflowBundle(): Promise<WorkflowBundleOption> {
  const sources = fileURLToPath(new URL('../workflows/', import.meta.url));
  const built = join(sources, '../dist/workflow-bundle.js');
  const builtAt = modifiedAt(built);
  const names = existsSync(sources) ? readdirSync(sources) : [];
  const changedAt = Math.max(0, ...names.map((name) => modifiedAt(join(sources, name)) ?? 0));
  if (builtAt !== null && builtAt >= changedAt) return { codePath: built };
  return bundleWorkflowCode({ workflowsPath: join(sources, 'index.ts'), logger: new DefaultLogger('ERROR') });
}

function modifiedAt(file: string): number | null {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? null;
}
