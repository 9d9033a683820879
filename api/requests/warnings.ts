import type { Operation } from '../../domain/policies.js';
import type { Services } from '../context.js';
import { type Reply, reply } from '../http/reply.js';
import { unknownFieldWarnings } from '../http/unknown-fields.js';
import { approverWarnings } from './approver-warnings.js';
import type { CreateCall } from './create.js';
import { creationBody } from './creation-body.js';
import { shareWarnings } from './share-warnings.js';

/** The answer of a creation, with warnings about likely mistakes in the call. The request is made by then, so a failure to look costs the warnings only. */
export async function withWarnings(
  call: CreateCall & { bodyKeys: readonly string[] },
  services: Services,
  made: Reply,
): Promise<Reply> {
  const { body } = made;
  if (body.kind !== 'value') return made;
  const shares = await shareWarnings(services, call.generation, call.body.share_with).catch(() => []);
  const { status, operation } = body.value as { status: string; operation: Operation };
  const stuck =
    status === 'pending' ? await approverWarnings(services, call.generation, { ...call.body, operation }, call.caller) : [];
  const warnings = [...unknownFieldWarnings(call.bodyKeys, creationBody), ...shares, ...stuck];
  if (warnings.length === 0) return made;
  return reply(made.status === 200 ? 200 : 201, { ...(body.value as object), warnings });
}
