/** Placeholder until the demo exists. */
export async function demo(_options: { port: string; data: string }): Promise<number> {
  return Promise.resolve(1);
}
