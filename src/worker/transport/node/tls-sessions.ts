/** The sessions of clients without tickets; the oldest make room. Each worker keeps its own. */
export class TlsSessions {
  private readonly sessions = new Map<string, { readonly session: Buffer; readonly endsMs: number }>();

  keep(
    id: Buffer,
    session: Buffer,
    { most, timeoutSeconds }: { most: number; timeoutSeconds: number },
  ): void {
    this.sessions.set(id.toString('latin1'), { session, endsMs: Date.now() + timeoutSeconds * 1000 });
    for (const oldest of this.sessions.keys()) {
      if (this.sessions.size <= most) return;
      this.sessions.delete(oldest);
    }
  }

  find(id: Buffer): Buffer | null {
    const known = this.sessions.get(id.toString('latin1'));
    return known && known.endsMs > Date.now() ? known.session : null;
  }
}
