/** A text, or the list of relationships of PGRST201. */
type Details = string | readonly Readonly<Record<string, string>>[] | null;

/** The body and head of an error response. */
export interface FaultShape {
  /** A `PGRST…` code or a SQLSTATE. */
  readonly code: string;
  readonly status: number;
  readonly message: string;
  readonly details?: Details;
  readonly hint?: string | null;
  /** Written to the log and never sent to clients: it may name hosts, roles and paths. */
  readonly logged?: string | undefined;
  /** The client asked for it, so that the log has it as `info` only. */
  readonly isWished?: boolean | undefined;
  /** The reason phrase, if it differs from that of the status. */
  readonly reason?: string | undefined;
  /** The index of the item of a batch that it ended. */
  readonly item?: number | undefined;
  /** Additional headers: name, value, name, value … */
  readonly headers?: readonly string[];
}

/** A fault that ends a request with an error response. */
export class DbrestFault extends Error implements FaultShape {
  readonly code: string;
  readonly status: number;
  readonly details: Details;
  readonly hint: string | null;
  readonly logged: string | undefined;
  readonly isWished: boolean;
  readonly reason: string | undefined;
  readonly item: number | undefined;
  readonly headers: readonly string[];

  constructor({ code, status, message, details = null, hint = null, ...rest }: FaultShape) {
    super(message);
    this.code = code;
    this.status = status;
    this.details = details;
    this.hint = hint;
    this.logged = rest.logged;
    this.isWished = rest.isWished === true;
    this.reason = rest.reason;
    this.item = rest.item;
    this.headers = rest.headers ?? [];
  }

  /**
   * The JSON body: all four members in the order of their names, or only `code` and `message`; and the item of a batch.
   */
  body(verbosity: 'verbose' | 'minimal'): string {
    const { code, details, hint, item, message } = this;
    return JSON.stringify(
      verbosity === 'minimal' ? { code, item, message } : { code, details, hint, item, message },
    );
  }
}
