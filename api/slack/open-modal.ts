import { refusal } from '../../domain/errors.js';
import type { Modal } from '../../domain/slack/blocks.js';
import { errorModal } from '../../domain/slack/modals.js';
import type { SlackCall } from './call.js';
import { callSlack, toldOf } from './told.js';

/** Slack takes no trigger for longer. */
const triggerMs = 3000;

/** Opens a modal by the trigger of a click or a command. Returns its id. */
export async function openModal(call: SlackCall, triggerId: string, view: Modal, timeoutMs = triggerMs): Promise<string> {
  const opened = await callSlack(call, 'views.open', { trigger_id: triggerId, view }, timeoutMs);
  const { id } = (opened?.view ?? {}) as { id?: unknown };
  if (typeof id !== 'string') throw notOpened();
  return id;
}

/** Opens a modal, and fills it with what `make` makes, or with its error. */
export async function openAndFill(call: SlackCall, triggerId: string, loading: Modal, make: () => Promise<Modal>): Promise<void> {
  const viewId = await openModal(call, triggerId, loading);
  const show = (view: Modal) => callSlack(call, 'views.update', { view_id: viewId, view });
  let view: Modal;
  try {
    view = await make();
  } catch (error) {
    await show(errorModal(toldOf(call, error)));
    throw error;
  }
  if ((await show(view)) === null) throw notOpened();
}

const notOpened = () => refusal('service.unavailable', 'Slack did not open the form: try again');
