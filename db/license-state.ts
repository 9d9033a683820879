import type { PlanName } from '../domain/license.js';
import type { LicenseEvent } from '../domain/license-news.js';
import type { Transaction } from './client.js';

export interface LicenseState {
  /** In effect at the last look. */
  before: PlanName;
  /** What this key has been told of. */
  told: LicenseEvent[];
}

/** Reads what was told of a licence key (its fingerprint, null without one). Others wait until the end of the transaction. */
export async function lockLicenseState(tx: Transaction, fingerprint: string | null): Promise<LicenseState> {
  await tx.query(`insert into background_state (name, content) values ('plan', '{"plan": "free"}') on conflict do nothing`);
  const [plan] = await tx.query<{ plan: PlanName }>(
    `select content->>'plan' as plan from background_state where name = 'plan' for update`,
  );
  const [key] = await tx.query<{ told: LicenseEvent[] }>(
    `select content->'told' as told from background_state where name = 'license ' || $1::text`,
    [fingerprint],
  );
  return { before: plan?.plan ?? 'free', told: key?.told ?? [] };
}

export async function writeLicenseState(
  tx: Transaction,
  fingerprint: string | null,
  { before, told }: LicenseState,
): Promise<void> {
  await tx.query(
    `update background_state set content = jsonb_build_object('plan', $1::text), updated_at = clock_timestamp() where name = 'plan'`,
    [before],
  );
  if (fingerprint === null || told.length === 0) return;
  await tx.query(
    `insert into background_state (name, content) values ('license ' || $1::text, jsonb_build_object('told', $2::text[]))
     on conflict (name) do update set content = excluded.content, updated_at = clock_timestamp()`,
    [fingerprint, told],
  );
}
