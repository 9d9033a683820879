import { problemsOfBlocks, problemsOfView } from './block-limits.js';
import {
  type Channel,
  type Ephemeral,
  type Json,
  type Message,
  type OpenView,
  refused,
  type SlackAnswer,
  type Trigger,
} from './kept.js';

/** Slack's patience with a trigger. */
const triggerMs = 3000;

/** What Slack remembers of one workspace and the app in it, and what its methods do to that. */
export class Workspace {
  readonly channels: Channel[] = [];
  readonly ephemerals: Ephemeral[] = [];
  readonly views: OpenView[] = [];
  /** Ids by e-mail address. */
  readonly emails = new Map<string, string>();
  private readonly triggers = new Map<string, Trigger>();
  private posted = 0;
  private directs = 0;

  addChannel(name: string, changes: Partial<Channel> = {}): Channel {
    const channel: Channel = {
      id: `C${this.channels.length - this.directs + 1}`,
      name: name.replace(/^#/, ''),
      isPrivate: false,
      isMember: true,
      isArchived: false,
      messages: [],
      ...changes,
    };
    this.channels.push(channel);
    return channel;
  }

  /** By id, or by name with `#` or without. */
  find(idOrName: unknown): Channel | undefined {
    const name = String(idOrName).replace(/^#/, '');
    return this.channels.find((channel) => channel.id === idOrName || (channel.id.startsWith('C') && channel.name === name));
  }

  /** What a person sees of the app in direct messages. */
  directOf(user: string): Channel {
    const known = this.channels.find(({ id, name }) => id.startsWith('D') && name === user);
    if (known !== undefined) return known;
    this.directs += 1;
    return this.addChannel(user, { id: `D${this.directs}` });
  }

  newTrigger(user: string): string {
    const trigger = `1${String(this.triggers.size).padStart(6, '0')}.738474920.8088930838d88f008e0`;
    this.triggers.set(trigger, { user, madeAt: Date.now(), wasUsed: false });
    return trigger;
  }

  /** As if it had been made a while ago. */
  ageTrigger(trigger: string): void {
    const known = this.triggers.get(trigger);
    if (known !== undefined) known.madeAt -= triggerMs;
  }

  readonly methods: Record<string, (args: Json) => SlackAnswer> = {
    'chat.postMessage': (args) => this.post(args),
    'chat.update': (args) => this.update(args),
    'chat.postEphemeral': (args) => this.whisper(args),
    'conversations.join': ({ channel }) => this.join(channel),
    'users.lookupByEmail': ({ email }) => {
      const id = this.emails.get(String(email));
      return id === undefined ? refused('users_not_found') : { ok: true, user: { id } };
    },
    'views.open': (args) => this.openView(args),
    'views.update': (args) => this.updateView(args),
  };

  private post({ channel: to, thread_ts, ...message }: Json): SlackAnswer {
    const channel = /^[UW][A-Z0-9]+$/.test(String(to)) ? this.directOf(to) : this.find(to);
    const fault = this.closedTo(channel) ?? badMessage(message, 40_000);
    if (fault !== null || channel === undefined) return fault ?? refused('channel_not_found');
    const { text = '', blocks = [] } = message;
    const ts = `${1_900_000_000 + Math.floor(this.posted / 9000)}.${String(100 + (this.posted % 9000)).padStart(6, '0')}`;
    this.posted += 1;
    const made: Message = { ts, text, blocks, updates: 0, thread: [] };
    // Slack posts a reply to a message that is not there as a message of its own.
    const parent = channel.messages.find((other) => other.ts === thread_ts);
    (parent?.thread ?? channel.messages).push(made);
    return { ok: true, channel: channel.id, ts, message: { ...message, ts, type: 'message' } };
  }

  private update({ channel: to, ts, ...message }: Json): SlackAnswer {
    // By id only: neither a name nor a person.
    const channel = this.channels.find(({ id }) => id === to);
    if (channel === undefined) return refused('channel_not_found');
    const found = channel.messages.flatMap((other) => [other, ...other.thread]).find((other) => other.ts === ts);
    if (found === undefined) return refused('message_not_found');
    const fault = badMessage(message, 4000);
    if (fault !== null) return fault;
    found.text = message.text ?? found.text;
    found.blocks = message.blocks ?? found.blocks;
    found.updates += 1;
    return { ok: true, channel: channel.id, ts, text: found.text };
  }

  private whisper({ channel: to, user, ...message }: Json): SlackAnswer {
    const channel = this.find(to);
    const fault = this.closedTo(channel) ?? badMessage(message, 40_000);
    if (fault !== null || channel === undefined) return fault ?? refused('channel_not_found');
    if (!/^[UW][A-Z0-9]+$/.test(String(user))) return refused('user_not_in_channel');
    this.ephemerals.push({ channel: channel.id, user, text: message.text ?? '', blocks: message.blocks ?? [] });
    return { ok: true, message_ts: `${1_900_000_000 + this.ephemerals.length}.000000` };
  }

  private closedTo(channel: Channel | undefined): SlackAnswer | null {
    if (channel === undefined || (channel.isPrivate && !channel.isMember)) return refused('channel_not_found');
    if (channel.isArchived) return refused('is_archived');
    return channel.isMember ? null : refused('not_in_channel');
  }

  private join(to: unknown): SlackAnswer {
    // By id only.
    const channel = this.channels.find(({ id }) => id === to);
    if (channel === undefined || (channel.isPrivate && !channel.isMember)) return refused('channel_not_found');
    if (channel.id.startsWith('D') || channel.isPrivate) return refused('method_not_supported_for_channel_type');
    if (channel.isArchived) return refused('is_archived');
    channel.isMember = true;
    return { ok: true, channel: { id: channel.id, name: channel.name, is_member: true } };
  }

  private openView({ trigger_id, view }: Json): SlackAnswer {
    const trigger = this.triggers.get(String(trigger_id));
    if (trigger === undefined) return refused('invalid_trigger_id');
    if (trigger.wasUsed) return refused('exchanged_trigger_id');
    if (Date.now() - trigger.madeAt >= triggerMs) return refused('expired_trigger_id');
    const problems = problemsOfView(view);
    if (problems.length > 0) return refused('invalid_arguments', problems);
    trigger.wasUsed = true;
    const opened: OpenView = { id: `V${this.views.length + 1}`, hash: '', user: trigger.user, isOpen: true, view };
    this.views.push(opened);
    return this.show(opened, view);
  }

  private updateView({ view_id, hash, view }: Json): SlackAnswer {
    const found = this.views.find(({ id, isOpen }) => isOpen && id === view_id);
    if (found === undefined) return refused('not_found');
    if (hash !== undefined && hash !== found.hash) return refused('hash_conflict');
    const problems = problemsOfView(view);
    return problems.length > 0 ? refused('invalid_arguments', problems) : this.show(found, view);
  }

  /** Puts another content into a view; the hash that others know of it is stale then. */
  show(opened: OpenView, view: Json): SlackAnswer {
    opened.view = view;
    this.shows += 1;
    opened.hash = `${1_900_000_000 + this.shows}.hash`;
    return { ok: true, view: { ...view, id: opened.id, root_view_id: opened.id, hash: opened.hash, state: { values: {} } } };
  }
  private shows = 0;
}

function badMessage({ text, blocks }: Json, most: number): SlackAnswer | null {
  if (blocks === undefined && (typeof text !== 'string' || text === '')) return refused('no_text');
  if (text !== undefined && typeof text !== 'string') return refused('invalid_arguments');
  if ((text?.length ?? 0) > most) return refused('msg_too_long');
  const problems = blocks === undefined ? [] : problemsOfBlocks(blocks);
  return problems.length === 0 ? null : refused('invalid_blocks', problems);
}
