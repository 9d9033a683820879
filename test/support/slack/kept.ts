/** What the stand-in of Slack keeps, and what it answers. */

// biome-ignore lint/suspicious/noExplicitAny: JSON that tests look into freely
export type Json = Record<string, any>;

export interface Message {
  ts: string;
  text: string;
  blocks: Json[];
  /** How often it was updated. */
  updates: number;
  /** The replies, in the order in which they were posted. */
  thread: Message[];
}

export interface Channel {
  /** `C…`, or `D…` of direct messages. */
  id: string;
  /** Without `#`; of direct messages the person's id. */
  name: string;
  isPrivate: boolean;
  isMember: boolean;
  isArchived: boolean;
  messages: Message[];
}

export interface OpenView {
  id: string;
  hash: string;
  user: string;
  isOpen: boolean;
  view: Json;
}

export interface Ephemeral {
  channel: string;
  user: string;
  text: string;
  blocks: Json[];
}

export interface Trigger {
  user: string;
  madeAt: number;
  wasUsed: boolean;
}

/** An answer of the Web API with status 200. */
export type SlackAnswer = { ok: true; [key: string]: unknown } | { ok: false; error: string; [key: string]: unknown };

export const refused = (error: string, problems: readonly string[] = []): SlackAnswer => ({
  ok: false,
  error,
  ...(problems.length === 0
    ? {}
    : { errors: problems, response_metadata: { messages: problems.map((text) => `[ERROR] ${text}`) } }),
});
