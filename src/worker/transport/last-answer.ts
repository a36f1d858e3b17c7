/** An answer behind which its connection closes. */
export interface LastAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string | Uint8Array;
  /** Length that a HEAD announces; 0 for everything that has its body. */
  readonly size: number;
}
