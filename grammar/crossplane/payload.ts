/** One directive of crossplane's JSON; a comment is the directive `#`. */
export interface Statement {
  readonly directive: string;
  /** Counted from 1. */
  readonly line: number;
  readonly args: readonly string[];
  readonly block?: readonly Statement[];
  /** Text behind the `#`. */
  readonly comment?: string;
  /** Of an `include`: the files it stands for, as places in `config`. */
  readonly includes?: readonly number[];
  /** The file it comes from, in a combined payload. */
  readonly file?: string;
}

export interface PayloadError {
  readonly error: string;
  readonly line: number | null;
  /** What the fault's hint says. */
  readonly callback?: string;
}

/** One file of crossplane's JSON. */
export interface PayloadFile {
  readonly file: string;
  readonly status: 'ok' | 'failed';
  readonly errors: readonly PayloadError[];
  readonly parsed: readonly Statement[];
}

/** What `crossplane parse` prints, and `crossplane build` reads. */
export interface Payload {
  readonly status: 'ok' | 'failed';
  readonly errors: readonly (PayloadError & { readonly file: string })[];
  readonly config: readonly PayloadFile[];
}
