import type { Permission } from './permission-table.js';

/** A database and an environment; in a policy row either may be `*`. */
export interface Pair {
  database: string;
  environment: string;
}

export type Ownership = 'own' | 'any';

export interface EffectiveRole {
  name: string;
  permissions: { perm: Permission | '*'; ownership: Ownership }[];
  /** Names or `*`, never empty. */
  databases: string[];
  environments: string[];
}

/** Who calls, as resolved for this call: `roles` after the ceiling; `tokenId` null for a JWT. */
export type Caller =
  | {
      kind: 'user';
      id: string;
      roles: EffectiveRole[];
      /** Those that selectors see (HD-71). */
      groups: string[];
      /** All, stored and from the JWT (IM-52). */
      memberOf: string[];
      origins: CallerOrigins;
      tokenId: string | null;
    }
  | { kind: 'agent'; id: string; tokenId: string; agentScopes: AgentScopes };

/**
 * Whom something goes back to (HD-70): every user who made it, or who made the account or issued the token it was made with. Empty: the gateway itself,
 * or nobody knows any more. A lone `*`: more people than are kept, so it may be anybody.
 */
export type Origins = readonly string[];

/** Whom all that a caller approves with goes back to. */
export interface CallerOrigins {
  account: Origins;
  credential: Origins;
  /** Of each membership; a group that is missing was granted by nobody we know. */
  groups: ReadonlyMap<string, Origins>;
  /** Of each role every way by which it is held: directly, or by a group. */
  roles: ReadonlyMap<string, readonly Origins[]>;
}

/** The pairs an agent token may serve, as `<database>/<environment>` with `*` for any; null = every pair (HD-10). */
export type AgentScopes = readonly string[] | null;
