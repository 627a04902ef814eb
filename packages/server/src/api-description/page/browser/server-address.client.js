// Shows the address that the browser used. The server knows the Host header alone, neither https nor a path of a proxy.
const named = document.documentElement.dataset.server;
const used = location.origin + location.pathname.replace(/\/docs\/?$/, '');
if (location.protocol.startsWith('http') && used !== named) {
  for (const code of document.querySelectorAll('pre code')) {
    code.textContent = code.textContent.replaceAll(named, used);
  }
}
