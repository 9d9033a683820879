import { dirname, resolve } from 'node:path';
import { warnNotAvailable } from './availability.js';
import { buildConfig, isComplete } from './build.js';
import { checkReferences } from './cross-checks.js';
import { readDraft } from './draft.js';
import { expandTree } from './expansion.js';
import { checkLocal } from './local-checks.js';
import { locate } from './positions.js';
import { createFindings, type Findings, toProblems } from './problems.js';
import { dropRetiredKeys } from './retired.js';
import { parseToml, readSource } from './source.js';
import type { LoadedConfig } from './types.js';

export { findLostSections } from './guard.js';
export { formatProblem } from './problems.js';
export { keepRestartKeys, listRestartKeys } from './reload.js';
export { changedSections, sharedContent } from './shared.js';
export type * from './types.js';

type Variables = Readonly<Record<string, string | undefined>>;

/**
 * Reads and checks `server.toml` (CF-1 to CF-10). Returns the frozen configuration, or all errors in file order, at most 50.
 * Never throws for what a file or the environment holds. Reads the file and the key files that it names, and nothing from the
 * network.
 */
export function loadConfig(file: string, environment: Variables): LoadedConfig {
  const source = readSource(file);
  if ('problem' in source) return { ok: false, errors: [source.problem], warnings: [] };
  const parsed = parseToml(file, source.text);
  if ('problem' in parsed) return { ok: false, errors: [parsed.problem], warnings: [] };
  const path = resolve(file);
  const findings = createFindings();
  const draft = readDraft(prepare(parsed.table, environment, findings), findings);
  checkReferences(draft, findings);
  checkLocal(draft, dirname(path), environment, findings);
  const positions = locate(source.text);
  const toList = (list: Findings['errors']) => toProblems(list, file, positions, parsed.table);
  const warnings = toList(findings.warnings);
  if (!isComplete(draft, findings.errors.length)) return { ok: false, errors: toList(findings.errors), warnings };
  return { ok: true, config: buildConfig(draft, path, environment), warnings };
}

/** Expands variables, removes retired keys, and puts in the two addresses that `svc dev` gives its own processes (OP-53). */
function prepare(table: Record<string, unknown>, environment: Variables, findings: Findings): Record<string, unknown> {
  const expanded = expandTree(table, environment, (path, message) => findings.error({ path, message }));
  const file = expanded as Record<string, unknown>;
  warnNotAvailable(file, findings);
  dropRetiredKeys(file, findings);
  fillIn(file, 'database', 'url', environment.SVC_DEV_DATABASE_URL);
  fillIn(file, 'temporal', 'address', environment.SVC_DEV_TEMPORAL_ADDRESS);
  return file;
}

function fillIn(file: Record<string, unknown>, section: string, key: string, value: string | undefined): void {
  const table = file[section] ?? {};
  if (value === undefined || typeof table !== 'object' || Object.hasOwn(table, key)) return;
  file[section] = { ...table, [key]: value };
}
