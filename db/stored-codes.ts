import type { ApprovalMacs } from '../crypto/approval-macs.js';
import type { StoredRequest } from '../domain/request/types.js';
import { decisionText, generationText, requestText, stateText } from '../domain/vouched-text.js';
import type { Transaction } from './client.js';
import type { CodedRequest } from './request-state.js';
import { requestCode, stateCode } from './vouching.js';

/** New codes of one request; null for each decision that gets none. */
export interface NewCodes {
  id: string;
  passedBy: StoredRequest['passedBy'];
  request: string | null;
  state: string | null;
  decisions: { id: string; mac: string | null }[];
}

/** Codes of a request as stored. Use it only where the stored data is trusted. */
export function codesOf({ request, decisionIds }: CodedRequest, macs: ApprovalMacs): NewCodes {
  return {
    id: request.id,
    passedBy: request.passedBy,
    request: requestCode(request, macs),
    state: stateCode(request, macs),
    decisions: request.decisions.map((decision, n) => ({
      id: decisionIds[n]!,
      mac: macs.mac(decisionText(request, decision)),
    })),
  };
}

/** Codes under the key `to` for everything valid under `from` or already under `to`; null for what is valid under neither. */
export function renewedCodes({ request, codes, decisionIds }: CodedRequest, from: ApprovalMacs, to: ApprovalMacs): NewCodes {
  const renewed = (text: string, mac: string | null) => (from.holds(text, mac) || to.holds(text, mac) ? to.mac(text) : null);
  return {
    id: request.id,
    passedBy: request.passedBy,
    request: renewed(requestText(request), codes.request),
    state: renewed(stateText(request), codes.state),
    decisions: request.decisions.map((decision, n) => ({
      id: decisionIds[n]!,
      mac: renewed(decisionText(request, decision), codes.decisions[n] ?? null),
    })),
  };
}

/** The same for a generation. */
export function renewedGenerationCode(generation: CodedGeneration, from: ApprovalMacs, to: ApprovalMacs): string | null {
  const text = generationText(generation);
  return from.holds(text, generation.mac) || to.holds(text, generation.mac) ? to.mac(text) : null;
}

export async function writeCodes(tx: Transaction, codes: readonly NewCodes[]): Promise<void> {
  const requests = codes.map(({ id, passedBy, request, state }) => ({ id, passed_by: passedBy, request, state }));
  await tx.query(
    `with given as (
       update requests r set passed_by = c.passed_by, request_mac = c.request, state_mac = c.state
       from jsonb_to_recordset($1::jsonb) as c(id uuid, passed_by text, request text, state text) where r.id = c.id
     )
     update decisions d set mac = c.mac from jsonb_to_recordset($2::jsonb) as c(id uuid, mac text) where d.id = c.id`,
    [JSON.stringify(requests), JSON.stringify(codes.flatMap(({ decisions }) => decisions))],
  );
}

interface CodedGeneration {
  number: number;
  digest: string;
  content: unknown;
  mac: string | null;
}

/** A few generations are coded by one statement. */
const batchGenerations = 20;

/** Gives the next generations by number the code that `code` returns. Returns the last number, or null when none is left. */
export async function codeGenerations(
  tx: Transaction,
  after: number,
  code: (generation: CodedGeneration) => string | null,
): Promise<number | null> {
  const batch = await tx.query<CodedGeneration>(
    'select number, digest, content, mac from config_generations where number > $1 order by number limit $2',
    [after, batchGenerations],
  );
  const codes = batch.map((generation) => ({ number: generation.number, mac: code(generation) }));
  await tx.query(
    `update config_generations g set mac = c.mac from jsonb_to_recordset($1::jsonb) as c(number bigint, mac text) where g.number = c.number`,
    [JSON.stringify(codes)],
  );
  return batch.at(-1)?.number ?? null;
}

export const generationCode = (generation: CodedGeneration, macs: ApprovalMacs) => macs.mac(generationText(generation));
