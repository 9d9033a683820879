import type { SharedConfig } from '../domain/policies.js';
import type { GUARDED_SECTIONS } from './process-schema.js';

type GuardedSection = (typeof GUARDED_SECTIONS)[number];

export interface LostSection {
  section: GuardedSection;
  /** How many entries the generation in force has. */
  entries: number;
  /** As CF-50 words it, without the file's name. */
  message: string;
  hint: string;
}

const count: Record<GuardedSection, (shared: SharedConfig) => number> = {
  databases: (shared) => shared.databases.length,
  'auth.roles': (shared) => shared.auth.roles.length,
  'auth.groups': (shared) => shared.auth.groups.length,
  workflows: (shared) => shared.workflows.length,
  execution_policies: (shared) => shared.executionPolicies.length,
  result_policies: (shared) => shared.resultPolicies.length,
  webhooks: (shared) => shared.webhooks.length,
  notification_policies: (shared) => shared.notificationPolicies.length,
};

/**
 * The sections that the generation in force fills and the file leaves empty without `allow_empty`. One is enough to refuse start
 * and reload (CF-50).
 */
export function findLostSections(inForce: SharedConfig, next: SharedConfig, allowEmpty: readonly string[]): LostSection[] {
  return (Object.keys(count) as GuardedSection[]).flatMap((section) => {
    const entries = count[section](inForce);
    if (entries === 0 || count[section](next) > 0 || allowEmpty.includes(section)) return [];
    const message = `the generation in force has ${entries} ${entries === 1 ? 'entry' : 'entries'}, the file has none`;
    return [{ section, entries, message, hint: `add "${section}" to allow_empty if this is meant` }];
  });
}
