/** The current time in the format of `Date` (RFC 9110, 5.6.7), rendered once per second. */
export class HttpDate {
  #second = 0;
  #made = '';

  text(): string {
    const second = Math.floor(Date.now() / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#made = new Date(second * 1000).toUTCString();
    }
    return this.#made;
  }
}
