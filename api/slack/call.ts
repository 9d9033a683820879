import type { SubmittedView } from '../../domain/slack/submission.js';
import type { ClientAddress } from '../../runtime/client-address.js';
import type { Generation, Services } from '../context.js';

/** A call that Slack signed, from one of its users. */
export interface SlackCall {
  services: Services;
  times: SlackTimes;
  generation: Generation;
  address: ClientAddress;
  /** The value of `x-request-id`. */
  callId: string;
  /** When the call came, as `performance.now()` says it. */
  startedAt: number;
  /** The Slack id of the sender, who is not known as a user before `actingUser` has looked. */
  slackUserId: string;
  /** Their name in Slack, which they choose; null if Slack sent none. */
  slackUserName: string | null;
}

/** Times without a key in `server.toml`, in milliseconds. */
export interface SlackTimes {
  dispatchMs: number;
}

export interface ClickedAction {
  value: string;
  /** Opens one modal, for 3 s. */
  triggerId: string;
}

/** Runs after its answer (SL-15). What it throws is told to the user in the channel. */
export type ActionHandler = (call: SlackCall, action: ClickedAction) => Promise<void>;

/** What a submission is answered: null closes the modal (SL-30). */
export type ViewAnswer =
  | { response_action: 'errors'; errors: Readonly<Record<string, string>> }
  | { response_action: 'update'; view: unknown }
  | null;

export interface SubmissionHandler {
  /** Where an error is shown that belongs to no other block. */
  firstBlock: string;
  /** Answers once what it changes is committed. What it throws is shown on the first block. */
  submit(call: SlackCall, view: SubmittedView): Promise<ViewAnswer>;
}

export interface SlashCommand {
  triggerId: string;
}

/** Answers a text that only the user sees, or null once it has opened a modal. */
export type CommandHandler = (call: SlackCall, command: SlashCommand) => Promise<string | null>;
