/** How visitors are told apart in one location. */
export interface UserIdConfig {
  /** `log`: cookies are read, and none is set. `v1`: in the format of the first version, which counts in host order. */
  readonly mode: 'on' | 'v1' | 'log' | 'off';
  readonly name: string;
  /** '' for none. */
  readonly domain: string;
  readonly path: string;
  /** Seconds that the cookie lives; 0: until the browser ends. */
  readonly expires: number | 'max';
  /** As they stand in the cookie. */
  readonly flags: readonly string[];
  /** '' for none: the character in place of the first `=` at the end of the cookie. */
  readonly mark: string;
  /** '' for none. */
  readonly p3p: string;
  /** Absent: by the address that the request came in on. */
  readonly service?: number;
}
