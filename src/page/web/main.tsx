import { render } from "preact";
import { takeApiPlace } from "./api-place.js";
import { App } from "./app.js";

takeApiPlace();
const place = document.getElementById("page");
if (place !== null) render(<App />, place);
