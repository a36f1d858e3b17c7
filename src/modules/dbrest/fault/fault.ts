/** Text, or what PGRST201 lists. */
type Details = string | readonly Readonly<Record<string, string>>[] | null;

/** Body and head of an error answer; `dbrest-errors.md` of the contract has the table. */
export interface FaultShape {
  /** A `PGRST…` code or the SQLSTATE. */
  readonly code: string;
  readonly status: number;
  readonly message: string;
  readonly details?: Details;
  readonly hint?: string | null;
  /** What the log tells of it, and no client: hosts, roles, paths. */
  readonly logged?: string | undefined;
  /** The reason phrase, where it is not that of the status. */
  readonly reason?: string | undefined;
  /** Header name, value, name, value … beside the fixed ones. */
  readonly headers?: readonly string[];
}

/** A request that ends with an error answer. Carries no stack: it is an answer, not a defect. */
export class DbrestFault extends Error implements FaultShape {
  readonly code: string;
  readonly status: number;
  readonly details: Details;
  readonly hint: string | null;
  readonly logged: string | undefined;
  readonly reason: string | undefined;
  readonly headers: readonly string[];

  constructor({ code, status, message, details = null, hint = null, ...rest }: FaultShape) {
    super(message);
    this.code = code;
    this.status = status;
    this.details = details;
    this.hint = hint;
    this.logged = rest.logged;
    this.reason = rest.reason;
    this.headers = rest.headers ?? [];
  }

  /** The body, keys sorted; all four are always there, or `code` and `message` alone. */
  body(verbosity: 'verbose' | 'minimal'): string {
    const { code, details, hint, message } = this;
    return JSON.stringify(verbosity === 'minimal' ? { code, message } : { code, details, hint, message });
  }
}
