import type { Command } from 'commander';

/** The commands that editors start. */
export function addEditing(gw: Command): void {
  gw.command('lsp')
    .description('serve editors: the language server protocol on standard input and output')
    .option('--stdio', 'what some editors say; there is no other way')
    .action(async () => {
      await (await import('../../src/lsp/index.ts')).serveLanguage();
    });
}
