import { dirname, resolve } from 'node:path';
import { buildConfig, isComplete } from './build.js';
import { checkReferences } from './cross-checks.js';
import { type Draft, readDraft } from './draft.js';
import { expandTree } from './expansion.js';
import { checkLocal } from './local-checks.js';
import { locate } from './positions.js';
import { createFindings, type Findings, toProblems } from './problems.js';
import { dropRetiredKeys } from './retired.js';
import { parseToml, readSource } from './source.js';
import type { ConfigProblem, LoadedConfig } from './types.js';
import { checkWebhookHosts, type Lookup } from './webhook-hosts.js';

export { findLostSections } from './lost-sections.js';
export { formatProblem } from './problems.js';
export { keepRestartKeys, listRestartKeys } from './reload.js';
export { changedSections, sharedContent } from './shared.js';
export type * from './types.js';
export type { Lookup } from './webhook-hosts.js';

type Variables = Readonly<Record<string, string | undefined>>;

/**
 * Reads and checks `server.toml` (CF-1 to CF-10). Returns the frozen configuration, or all errors in file order, at most 50.
 * Never throws for what a file or the environment holds. Reads the file and the key files that it names, and nothing from the
 * network.
 */
export function loadConfig(file: string, environment: Variables): LoadedConfig {
  const read = readAndCheck(file, environment);
  return 'problem' in read ? refuse(read.problem) : conclude(read);
}

/** The same as start, reload and `svc config check` do it: names of webhooks are looked up too (NT-42), which takes 3 s at most. */
export async function loadConfigForUse(file: string, environment: Variables, lookup?: Lookup): Promise<LoadedConfig> {
  const read = readAndCheck(file, environment);
  if ('problem' in read) return refuse(read.problem);
  await checkWebhookHosts(read.draft, read.findings, lookup);
  return conclude(read);
}

interface Read {
  file: string;
  text: string;
  table: Record<string, unknown>;
  draft: Draft;
  findings: Findings;
  environment: Variables;
}

function readAndCheck(file: string, environment: Variables): Read | { problem: ConfigProblem } {
  const source = readSource(file);
  if ('problem' in source) return source;
  const parsed = parseToml(file, source.text);
  if ('problem' in parsed) return parsed;
  const findings = createFindings();
  const draft = readDraft(prepare(parsed.table, environment, findings), findings);
  checkReferences(draft, findings);
  checkLocal(draft, dirname(resolve(file)), environment, findings);
  return { file, text: source.text, table: parsed.table, draft, findings, environment };
}

const refuse = (problem: ConfigProblem): LoadedConfig => ({ ok: false, errors: [problem], warnings: [] });

function conclude({ file, text, table, draft, findings, environment }: Read): LoadedConfig {
  const positions = locate(text);
  const toList = (list: Findings['errors']) => toProblems(list, file, positions, table);
  const warnings = toList(findings.warnings);
  if (!isComplete(draft, findings.errors.length)) return { ok: false, errors: toList(findings.errors), warnings };
  return { ok: true, config: buildConfig(draft, resolve(file), environment), warnings, positions };
}

/** Expands variables, removes retired keys, and puts in the two addresses that `svc dev` gives its own processes (OP-53). */
function prepare(table: Record<string, unknown>, environment: Variables, findings: Findings): Record<string, unknown> {
  const expanded = expandTree(table, environment, (path, message) => findings.error({ path, message }));
  const file = expanded as Record<string, unknown>;
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
