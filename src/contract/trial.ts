import type { Exchange } from '../http/index.ts';
import type { LocationFacts } from './build.ts';

/** A request that an operator tries on an API, as a role and with chosen claims. */
export interface TrialRequest {
  readonly role: string;
  /** Members of the claims; without a role the chosen one is added. */
  readonly claims: Readonly<Record<string, unknown>>;
  readonly method: string;
  /** The path with its query, as on a request line. */
  readonly target: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string;
  /** True: the statements run and are rolled back. False: they are only explained. */
  readonly runs: boolean;
}

/** The results of a trial. Tokens and values of the configuration are masked. */
export interface TrialReport {
  /** A phrase without a subject: `reads rows of the database`. */
  readonly does: string;
  /** Absent if the request was only explained and was not refused. */
  readonly response?: TrialResponse;
  /** In the order of execution. */
  readonly statements: readonly { readonly text: string; readonly values: readonly string[] }[];
  /** The plan of the main statement, as PostgreSQL prints it; measured if the statement ran. */
  readonly plan?: string;
  readonly relations: readonly RelationAccess[];
  /** The reasons for an empty or refused response, the most likely first. */
  readonly reasons: readonly TrialReason[];
}

/** The response to a trial; the body is cut at a bound. */
export interface TrialResponse {
  readonly status: number;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string;
  readonly bodyBytes: number;
  readonly isCut: boolean;
}

export interface TrialReason {
  /** One sentence without a full stop. */
  readonly text: string;
  /** SQL that would change it, for a person to review. */
  readonly remedy?: string;
}

/** The rights of a role to a table or view that a request uses, directly or through a view. */
export interface RelationAccess {
  /** Quoted where it has to be: `api.items`. */
  readonly name: string;
  readonly kind: 'table' | 'view' | 'materialized view' | 'foreign table';
  /** The role whose privileges count: through a view, the view's owner. */
  readonly role: string;
  readonly isDirect: boolean;
  readonly commands: readonly CommandAccess[];
  /** `off`: no row security; `bypassed`: it does not apply to the role. */
  readonly rowSecurity: 'off' | 'applies' | 'bypassed';
  readonly policies: readonly PolicyAccess[];
}

export interface CommandAccess {
  readonly command: 'SELECT' | 'INSERT' | 'UPDATE' | 'DELETE';
  readonly isAllowed: boolean;
  /** The columns for which the role lacks the privilege, if it has it for others. */
  readonly missingColumns?: readonly string[];
}

/** A policy of row security. */
export interface PolicyAccess {
  readonly name: string;
  readonly isPermissive: boolean;
  readonly command: CommandAccess['command'] | 'ALL';
  readonly roles: readonly string[];
  readonly using?: string;
  readonly check?: string;
  /** True if the policy is for the role and one of the commands of the request. */
  readonly applies: boolean;
}

/** The roles and resources with which requests can be tried on an API. */
export interface TrialDescription {
  /** The roles that trials may have, the anonymous one first. */
  readonly roles: readonly { readonly name: string; readonly bypassesRowSecurity: boolean }[];
  readonly resources: readonly TrialResource[];
  /** True if the list has been cut. */
  readonly isCut: boolean;
}

/** A table, view or function, listed even if a role may not use it. */
export interface TrialResource {
  readonly name: string;
  readonly kind: 'table' | 'function';
  /** Absent: the schema for requests without a profile. */
  readonly profile?: string;
  /** Below the location, with its slash. */
  readonly path: string;
  readonly summary: string;
  readonly methods: readonly string[];
  readonly fields: readonly {
    readonly name: string;
    readonly type: string;
    readonly isKey: boolean;
    readonly isRequired: boolean;
  }[];
}

/** The refusal of a trial: a status and a message for the operator. */
export class TrialRefusal extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** An API on which requests can be tried. Both methods reject with a `TrialRefusal`. */
export interface TrialApi {
  readonly location: LocationFacts;
  describe(): Promise<TrialDescription>;
  /** Ends early when the client of `origin` closes its connection. Leaves no changes in the database. */
  run(request: TrialRequest, origin: Exchange): Promise<TrialReport>;
}
