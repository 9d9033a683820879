import { errorText, rpcCodes } from './json-rpc.js';

/** The response to a call whose process died (MC-24). `id` is JSON text. */
export const interruptedText = (id: string): string =>
  errorText(id, {
    rpcCode: rpcCodes.internal,
    message: 'interrupted; check the request before calling again',
    code: 'internal',
    hint: null,
  });

export const maxReasonBytes = 1024;

/** What `elicitation/create` asks where the policy demands a reason (MC-30). */
export const reasonQuestion = {
  message: 'This database asks for a reason.',
  requestedSchema: {
    type: 'object',
    properties: { reason: { type: 'string', description: 'Why is this change needed?', maxLength: maxReasonBytes } },
    required: ['reason'],
  },
};
