import { z } from 'zod';
import { MAX_SELECTOR_BYTES } from '../../domain/selectors.js';
import { named, text } from '../http/fields.js';
import { note } from './creation-body.js';

const selector = text('Which of the selectors that you match the approval counts for, where there are several.', {
  maxLength: MAX_SELECTOR_BYTES,
})
  .nullish()
  .transform((given) => given ?? null);

const digestPattern = /^[0-9a-f]{64}$/;
const expectedDigest = z
  .string()
  .regex(digestPattern, 'must have 64 hexadecimal digits')
  .nullish()
  .transform((given) => given ?? undefined)
  .meta({
    description: 'The `approval_digest` that you were shown. If the request has another, nothing is decided.',
    pattern: digestPattern.source,
  });

const expectedStep = z.int().min(0).max(1_000_000).nullish().meta({
  description:
    'The `approval_progress.current_step` that you were shown. If another step is open, nothing is decided: a repeated approval never counts for the next step.',
});

const expectedFence = z.int().min(0).nullish().meta({
  description:
    'The `fence` that you were shown. If the request was resumed since, nothing runs: a repeated resume never runs it again.',
});

/** The bodies of `POST /api/requests/{id}/…`. */
export const approval = named('Approval', 'An approval of the current step.', {
  comment: note('What you have to say.'),
  selector,
  expected_digest: expectedDigest,
  expected_step: expectedStep,
});
export const rejection = named('Rejection', 'A rejection.', {
  comment: note('Why you reject it.'),
  expected_digest: expectedDigest,
});
export const cancellation = named('Cancellation', 'A cancel.', { reason: note('Why you cancel it.') });
export const resumption = named('Resumption', 'A resume.', {
  reason: note('Why you run it now; kept in the audit log.'),
  expected_fence: expectedFence,
});
