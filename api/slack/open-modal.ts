import { refusal } from '../../domain/errors.js';
import type { Modal } from '../../domain/slack/blocks.js';
import type { SlackCall } from './call.js';
import { callSlack } from './told.js';

/** Opens a modal by the trigger of a click or a command, which lives for 3 s. */
export async function openModal(call: SlackCall, triggerId: string, view: Modal): Promise<void> {
  const opened = await callSlack(call, 'views.open', { trigger_id: triggerId, view });
  if (opened === null) throw refusal('service.unavailable', 'Slack did not open the form: try again');
}
