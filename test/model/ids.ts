import { randomUUID } from 'node:crypto';
import type { Answer } from '../support/api.js';
import { namesOf } from './possible.js';
import type { World } from './world.js';

/** The ids that the gateway has given to what the model calls `r1` and `r1e1`. */
export class Ids {
  readonly #ids = new Map<string, string>();

  of(name: string): string | undefined {
    return this.#ids.get(name);
  }

  set(name: string, id: string): void {
    this.#ids.set(name, id);
  }

  /** What the model has just named has the id of the answer. */
  learn(world: World, id: string | undefined): void {
    const name = namesOf(world).find((one) => !this.#ids.has(one));
    if (name !== undefined && id !== undefined && ![...this.#ids.values()].includes(id)) this.#ids.set(name, id);
  }

  /** The path with ids in place of names; what has none is unknown to the gateway. */
  real(path: string): string {
    return path.replace(/\$(\w+)/, (_, name) => this.#ids.get(name) ?? randomUUID());
  }

  /** The answer as the model words it: names in place of ids, and nothing of other sequences. */
  visible({ text }: Answer): Record<string, unknown> {
    const names = new Map([...this.#ids].map(([name, id]) => [id, name]));
    const body = JSON.parse(text.replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, (id) => names.get(id) ?? id));
    for (const key of ['requests', 'jobs'].filter((one) => one in body))
      body[key] = body[key].filter(({ id }: { id: string }) => this.#ids.has(id));
    body.jobs?.sort((a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1));
    if ('cancelled_requests' in body)
      body.cancelled_requests = body.cancelled_requests.filter((id: string) => this.#ids.has(id)).toSorted();
    return body;
  }
}
