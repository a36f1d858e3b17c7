/** An answer whose body comes in pieces. */
export interface ResponseStream {
  /** False: wait for `drained` before the next write. The bytes of a chunk must stay as they are until then. */
  write(chunk: string | Uint8Array): boolean;
  drained(): Promise<void>;
  end(): void;
}
