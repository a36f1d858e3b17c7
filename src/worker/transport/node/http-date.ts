/** The current time as `Date` says it (RFC 9110, 5.6.7); made once for all answers of a second. */
export class HttpDate {
  private second = 0;
  private made = '';

  text(): string {
    const second = Math.floor(Date.now() / 1000);
    if (second !== this.second) {
      this.second = second;
      this.made = new Date(second * 1000).toUTCString();
    }
    return this.made;
  }
}
