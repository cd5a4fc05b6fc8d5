// The page on which people read the API's document and try it: its HTML, its few styles, and the script that starts it.

/** Links are relative: the runtime may stand behind a proxy, below a path of its own. */
export const pageHtml = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Signalbox API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="docs/swagger-ui.css">
<link rel="stylesheet" href="docs/page.css">
</head>
<body>
<main id="api"><p class="note">Without scripts this page shows nothing; the document itself is <a href="openapi.json">openapi.json</a>.</p></main>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/page.js"></script>
</body>
</html>
`;

export const pageCss = `body { margin: 0; background: #fff; }
.note { font: 16px/1.5 sans-serif; margin: 3rem auto; max-width: 40rem; }
`;

/** A key that is entered stays in the page's memory; no validator of somebody else is asked. */
export const pageScript = `SwaggerUIBundle({
  url: new URL("openapi.json", document.baseURI).href,
  dom_id: "#api",
  deepLinking: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  filter: true,
  persistAuthorization: false,
  validatorUrl: null,
});
`;

/** Nothing from elsewhere is loaded, asked or framed, and no text of the document can become script. */
export const pageHeaders = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "x-frame-options": "DENY",
};
