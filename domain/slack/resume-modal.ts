import type { StoredRequest } from '../request/types.js';
import { type Modal, plain, section } from './blocks.js';
import { carried } from './carried.js';
import { factsBlock, noteLength, textInput } from './modals.js';

/** Asks whether a request is to run. */
export const resumeModal = (
  request: Pick<StoredRequest, 'id' | 'requester' | 'database' | 'environment' | 'operation' | 'fence'>,
): Modal => ({
  type: 'modal',
  callback_id: 'svc_resume_modal',
  private_metadata: carried(request.id, request.fence),
  title: plain('Run request'),
  submit: plain('Run'),
  close: plain('Cancel'),
  blocks: [
    section('An agent will run this request as soon as one is free.'),
    factsBlock({
      Requester: request.requester,
      Database: `${request.database}/${request.environment}`,
      Operation: request.operation,
      'Request ID': request.id,
    }),
    textInput('reason', 'Reason', { optional: true, maxLength: noteLength }),
  ],
});
