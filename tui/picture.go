package tui

import (
	"strings"
	"time"

	"prismtop/profiles"
	"prismtop/tui/chart"
	"prismtop/tui/theme"
)

// picturePeriod paces the picture: it is most of what the screen sends, and
// nobody sees more than a few a second.
const picturePeriod = 340 * time.Millisecond

// smallestPair is the width from which the truth stands beside the picture, each
// so many pixels wide.
const smallestPair = 24

// picture is the reconstruction, and the truth beside it where there is room.
type picture struct {
	box
	now   func() time.Time
	shown *profiles.Picture
	at    time.Time
	greys raster
	truth raster
	white float32           // the amplitude drawn white
	of    *profiles.Picture // whose brightest it is
}

// raster is a picture reduced to greys, and what it was made from.
type raster struct {
	chart.Greys
	of    *profiles.Picture
	w, h  int
	white float32
}

// reduce makes the greys anew where something is different.
func (r *raster) reduce(p *profiles.Picture, img chart.Image, w, h int) {
	if r.of != p || r.w != w || r.h != h || r.white != img.White {
		r.of, r.w, r.h, r.white = p, w, h, img.White
		r.Update(img, w, h)
	}
}

func newPicture(now func() time.Time) *picture {
	return &picture{box: box{title: "Reconstruction"}, now: now}
}

func (p *picture) View() string    { return join(p.lines()) }
func (p *picture) lines() []string { return p.render(p.draw) }

// Update adopts the snapshot's picture unless one was adopted a moment ago and
// the run goes on to deliver others.
func (p *picture) Update(s *profiles.Snapshot) {
	p.box.Update(s)
	now := p.now()
	if s.Picture != p.shown && (s.State != profiles.Running || now.Sub(p.at) >= picturePeriod) {
		p.shown, p.at = s.Picture, now
	}
}

func (p *picture) draw(c *chart.Canvas, s *profiles.Snapshot) (string, theme.Style) {
	w, h := c.Size()
	p.quality(c, s)
	if p.shown == nil {
		message(c, "no picture yet")
		return "", theme.Faint
	}
	white := p.scale(s)
	area := c.Sub(0, 0, w, h-1)
	pw, ph := chart.Fit(p.shown.Width, p.shown.Height, w, 2*(h-1))
	if half := (w - 1) / 2; s.Truth != nil && half >= max(pw*2/3, smallestPair) { // the truth beside it
		pw, ph = chart.Fit(p.shown.Width, p.shown.Height, half, 2*(h-1))
		tw, th := chart.Fit(s.Truth.Width, s.Truth.Height, half, 2*(h-1))
		gap := w - pw - tw
		p.paint(&area, &p.greys, p.shown, white, gap/3, pw, ph)
		p.paint(&area, &p.truth, s.Truth, white, pw+gap-gap/3, tw, th)
		c.TextRight(w-gap/3, h-1, "truth", theme.Faint)
		return "", theme.Faint
	}
	p.paint(&area, &p.greys, p.shown, white, (w-pw)/2, pw, ph)
	return "", theme.Faint
}

// paint draws one picture pw by ph half-cell pixels large at column x, by what
// the terminal can show.
func (p *picture) paint(c *chart.Canvas, g *raster, pic *profiles.Picture, white float32, x, pw, ph int) {
	_, h := c.Size()
	img := chart.Image{Width: pic.Width, Height: pic.Height, Pixels: pic.Pixels, White: white}
	y := (h - (ph+1)/2) / 2
	switch {
	case p.theme.Pictures():
		g.reduce(pic, img, pw, ph)
		g.Draw(c, x, y)
	case p.theme.ASCII:
		img.Ramp(c, x, y, pw, ph)
	default:
		img.Dither(c, x, y, pw, ph)
	}
}

// scale is the amplitude drawn white: the truth's brightest, so that the scale
// stands still, or the picture's own where there is no truth.
func (p *picture) scale(s *profiles.Snapshot) float32 {
	of := s.Truth
	if of == nil {
		of = p.shown
	}
	if of == p.of {
		return p.white
	}
	p.of, p.white = of, 0
	for _, v := range of.Pixels {
		if v > p.white && v < 1e30 {
			p.white = v
		}
	}
	return p.white
}

func (p *picture) quality(c *chart.Canvas, s *profiles.Snapshot) {
	w, h := c.Size()
	if !s.HasQuality {
		text := "quality: not measured yet"
		c.Text(0, h-1, chart.Cut(text, w), theme.Faint)
		return
	}
	x := 0
	put := func(label, value string) {
		if x+chart.Width(label)+chart.Width(value)+1 > w {
			return
		}
		x = c.Text(x, h-1, label, theme.Faint)
		x = c.Text(x, h-1, value, theme.Strong) + 2
	}
	if w < 26 {
		c.Text(0, h-1, strings.TrimPrefix(psnr(s.Quality.PSNR), " "), theme.Strong)
		c.TextRight(w, h-1, "SSIM"+ssim(s.Quality.SSIM), theme.Plain)
		return
	}
	put("PSNR", psnr(s.Quality.PSNR))
	put("SSIM", ssim(s.Quality.SSIM))
	put("RMSE ", fixed(s.Quality.RMSE, 5)+" %")
}
