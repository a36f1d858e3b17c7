// A thin client: all it shows comes from `gw lsp`.
const { workspace } = require('vscode');
const { LanguageClient } = require('vscode-languageclient/node');

/** @type {LanguageClient | undefined} */
let client;

exports.activate = () => {
  const settings = workspace.getConfiguration('gw');
  const server = { command: settings.get('command', 'gw'), args: ['lsp'] };
  client = new LanguageClient('gw', 'gw', server, {
    documentSelector: [{ language: 'gateway' }],
    initializationOptions: { main: settings.get('main'), prefix: settings.get('prefix') },
  });
  return client.start();
};

exports.deactivate = () => client?.stop();
