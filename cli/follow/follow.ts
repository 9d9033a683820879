import { sleep } from '../../lib/sleep.js';
import { answerFailure } from '../client.js';
import type { Context } from '../context.js';
import { CommandFailure, failure, noOutcome } from '../failure.js';
import { asksForLogin } from '../settings-hint.js';
import { endedFailure, type Followed, waitsForApproval, waitsForResume } from './outcome.js';
import { patiently } from './patience.js';
import { createProgress, type Progress } from './progress.js';
import { lookAtRequest, type RequestView } from './request-view.js';
import { awaitResult, storedResult } from './result.js';

export interface FollowTask {
  id: string;
  /** As in the last answer; null before the first one. */
  status: string | null;
  /** Selectors to name when the request needs approval and we do not wait for it. */
  approvers: readonly string[];
  waitForApproval: boolean;
  resume: boolean;
  /** Resume again after a dispatch timeout, at most three times. */
  resumeAfterTimeout: boolean;
  signal: AbortSignal;
}

/** Follows a request to its end (CL-21 to CL-23), also while the server is away for a while (CL-22a): returns its result or throws the failure to report. */
export async function follow(context: Context, task: FollowTask): Promise<Followed> {
  const progress = createProgress(context, task.id);
  try {
    return await new Follower(patiently(context, progress.away), task, progress).run();
  } catch (error) {
    throw withContinuation(error, task.id, 'wait');
  } finally {
    progress.stop();
  }
}

const maxRepeatedResumes = 3;

class Follower {
  private readonly context: Context;
  private readonly task: FollowTask;
  private readonly progress: Progress;
  private wasDispatched = false;
  private repeatedResumes = 0;
  private view: RequestView | null = null;
  private status: string;

  constructor(context: Context, task: FollowTask, progress: Progress) {
    this.context = context;
    this.task = task;
    this.progress = progress;
    this.status = task.status ?? '';
  }

  async run(): Promise<Followed> {
    for (;;) {
      const startedAt = this.context.terminal.now();
      const before = this.status;
      const result = await this.step();
      if (result) return result;
      const left = this.context.terminal.limits.paceMs - (this.context.terminal.now() - startedAt);
      if (this.status !== before || left <= 0) continue;
      await sleep(left, this.task.signal);
      this.task.signal.throwIfAborted();
    }
  }

  private async step(): Promise<Followed | null> {
    switch (this.status) {
      case '':
        return this.look(null);
      case 'pending':
        return this.waitForApproval();
      case 'approved':
        return this.resume();
      case 'dispatched':
      case 'running':
        return this.waitForResult();
      case 'executed':
      case 'failed':
        return storedResult(this.context, this.task.id, this.task.signal);
      default:
        if (this.view === null) return this.look(null);
        throw await endedFailure(this.context, this.task.id, this.view, this.task.signal);
    }
  }

  private async look(seen: string | null): Promise<null> {
    const view = await lookAtRequest(this.context, this.task.id, seen, this.task.signal);
    this.view = view;
    this.status = view.status;
    this.progress.show(view);
    return null;
  }

  private async waitForApproval(): Promise<null> {
    if (!this.task.waitForApproval) throw waitsForApproval(this.context, this.task.id, this.task.approvers);
    // The first look does not wait, so that the progress can show whose turn it is.
    return this.look(this.view?.status === 'pending' ? 'pending' : null);
  }

  private async waitForResult(): Promise<Followed | null> {
    this.wasDispatched = true;
    return (await awaitResult(this.context, this.task.id, this.task.signal, this.progress)) ?? this.look(null);
  }

  private async resume(): Promise<null> {
    if (!(this.wasDispatched ? this.task.resumeAfterTimeout : this.task.resume)) throw waitsForResume(this.context, this.task.id);
    if (this.wasDispatched) this.repeatedResumes += 1;
    if (this.repeatedResumes > maxRepeatedResumes) throw this.notReady();
    // What somebody else has started since is not run again (RQ-88).
    const fence = this.view?.fence ?? null;
    const reply = await this.context.client().call({
      method: 'POST',
      path: ['api', 'requests', this.task.id, 'resume'],
      body: JSON.stringify(fence === null ? {} : { expected_fence: fence }),
      signal: this.task.signal,
      accept: [409],
    });
    const refused = reply.status === 409 ? answerFailure(this.context.what, reply.status, reply.text) : null;
    if (refused === null || refused.reason === 'already_dispatched') {
      this.status = 'dispatched';
      return null;
    }
    await this.look(null);
    if (this.status === 'approved') throw refused;
    return null;
  }

  private notReady(): CommandFailure {
    const hint = this.progress.lastHint();
    return failure('not_ready', `${this.context.what}: no agent picked up the request${hint ? `: ${hint}` : ''}`, {
      data: JSON.stringify({ request_id: this.task.id, status: 'approved' }),
      hint: `it is still approved: svc request resume ${this.task.id}`,
    });
  }
}

/** A failure of the way to the server or of the credential, which says nothing of the request, with the command of `svc request` that goes on from there. */
export function withContinuation(error: unknown, id: string, again: string): unknown {
  if (!(error instanceof CommandFailure) || !cutsOff(error.code)) return error;
  const hint = `the request continues: svc request ${again} ${id}`;
  return new CommandFailure(error.code, error.message, {
    // What else could be said of the network helps less than how to go on.
    hint: error.hint === null || error.code === 'network_error' ? hint : `${error.hint}\n${hint}`,
    data: error.data === 'null' ? JSON.stringify({ request_id: id }) : error.data,
    exit: 1,
  });
}

const cutsOff = (code: string) => noOutcome.includes(code) || asksForLogin(code) || code === 'rate.limited';
