import { errorModal } from '../../domain/slack/modals.js';
import type { ViewAnswer } from './call.js';

export const errorOn = (block: string, message: string): ViewAnswer => ({
  response_action: 'errors',
  errors: { [block]: message },
});

export const errorView = (text: string): ViewAnswer => ({ response_action: 'update', view: errorModal(text) });
