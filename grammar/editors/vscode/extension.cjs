// A thin client: all it shows comes from `gw lsp`.
const { execFile } = require('node:child_process');
const { commands, window, workspace } = require('vscode');
const { LanguageClient } = require('vscode-languageclient/node');

/** @type {LanguageClient | undefined} */
let client;

exports.activate = async ({ subscriptions }) => {
  subscriptions.push(
    commands.registerCommand('gw.restart', restart),
    workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration('gw')) return restart();
    }),
  );
  await start();
};

exports.deactivate = stop;

async function start() {
  const settings = workspace.getConfiguration('gw');
  const command = settings.get('command') || 'gw';
  const fault = await faultOf(command);
  if (fault !== undefined) return void showFault(fault);
  client = new LanguageClient(
    'gw',
    'gw',
    { command, args: ['lsp'] },
    {
      documentSelector: [{ language: 'gateway' }],
      initializationOptions: { main: settings.get('main'), prefix: settings.get('prefix') },
    },
  );
  await client.start();
}

async function stop() {
  const running = client;
  client = undefined;
  await running?.stop();
}

async function restart() {
  await stop();
  await start();
}

/** Why a program cannot be the server; nothing if it can. */
function faultOf(command) {
  return new Promise((resolve) => {
    execFile(command, ['-v'], { timeout: 10_000 }, (error, _, version) => {
      if (error?.code === 'ENOENT') resolve(`The program "${command}" was not found.`);
      else if (error)
        resolve(`The program "${command}" cannot be started: ${error.message.split('\n', 1)[0]}`);
      else if (!version.includes('gw/')) resolve(`The program "${command}" is not the gateway gw.`);
      else resolve(undefined);
    });
  });
}

async function showFault(fault) {
  const open = 'Open Settings';
  const text = `${fault} Install gw, or set "gw.command" to its path. Colours work without it.`;
  if ((await window.showErrorMessage(text, open)) === open)
    await commands.executeCommand('workbench.action.openSettings', 'gw.command');
}
